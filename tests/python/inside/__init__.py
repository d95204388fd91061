"""Programs that train without knowing lowtide, what is true of them, and a judge of the steps read from their memory."""
