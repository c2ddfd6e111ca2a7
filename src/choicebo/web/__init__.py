"""The loop in a browser: pages for people, and a JSON API beside them."""
