"""The history of the tables: one file in ``versions`` for each change, oldest first, shipped with the package."""
