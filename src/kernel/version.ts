/** The version of this binary; a test holds it to the one of the package. */
export const version = "0.1.0"

/** As people say it: without a patch number of zero. */
export const shortVersion = version.replace(/\.0$/, "")
