"""What a person decides: cancel, retry, answer, approve, redo, reject."""
