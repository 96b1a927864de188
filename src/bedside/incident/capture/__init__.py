"""What is kept of a step: batches, buffers and recent numbers, taken at the moment the step is seen to be bad."""
