/**
 * Whether this runs for real, as the built binary does. What only a mistake in the code would break
 * is looked at where it is developed and tested, and costs no start anything.
 */
export const isProduction = process.env.NODE_ENV === "production"
