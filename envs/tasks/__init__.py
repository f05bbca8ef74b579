"""The environments that come with rbgym, one a file."""
