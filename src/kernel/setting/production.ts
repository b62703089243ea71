/**
 * Whether this is the built binary. What only a mistake in the code would break is looked at where
 * it is developed and tested, and costs no start of the binary anything.
 */
export const isProduction = process.env.NODE_ENV === "production"
