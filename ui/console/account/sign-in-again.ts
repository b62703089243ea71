import { signIn } from "../shell/index.ts"

/**
 * Waits for a change that ends all sessions of the user, then signs in and returns to the page.
 * Stops other requests in the meantime, because they would be rejected.
 */
export async function thenSignIn(change: Promise<unknown>): Promise<never> {
  await change
  await signIn()
  return new Promise(() => {})
}
