"""The forms that trainers read, one module each; its name is the form's. See `groundwire.training`."""
