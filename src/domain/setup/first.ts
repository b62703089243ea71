/**
 * The id of the instance that set-up makes. It is the same in every data folder, so that of two
 * set-ups at once the second finds the first one's stream and is refused.
 */
export const firstInstance = "1"
