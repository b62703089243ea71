/**
 * The ID of the first instance. It is the same in all data directories, so that of two concurrent
 * setups the second one conflicts with the first.
 */
export const firstInstance = "1"
