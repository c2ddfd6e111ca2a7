"""What we believe: kernels, the likelihood of a choice, the engines that find the posterior, and the posterior itself."""
