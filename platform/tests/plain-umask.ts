/** Before each real test file: new files can be read by others, also after a file in the same process has opened a data folder. */
process.umask(0o022);
