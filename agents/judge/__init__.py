"""What a policy or a controller is worth: test sets, evaluations, cards, videos and plots."""
