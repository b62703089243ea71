/** The version of this binary; a test compares it with package.json. */
export const version = "0.1.0"

/** The short form: without a patch number of zero. */
export const shortVersion = version.replace(/\.0$/, "")
