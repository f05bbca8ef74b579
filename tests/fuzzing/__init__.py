"""What the fuzz tests share: hostile values, the contract of every call, and the targets."""
