"""The environments of rbgym; those of one body share a file."""
