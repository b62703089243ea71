/** Where every page of a sign-in posts that the person does not want to sign in. */
export const cancelPath = "/ui/login/cancel"
