"""What every prompt is made of: versioned templates, options of calls, and answers that are held to a schema."""
