"""What tests share: a clock they own, a crew, a board on a real SQLite file."""
