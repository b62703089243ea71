import { signIn } from "../shell/index.ts"

/**
 * A change that ends every sign-in of the person, this one too: goes through the next one, and
 * comes back to the page. Nothing is read meanwhile that would be refused.
 */
export async function andSignIn(change: Promise<unknown>): Promise<never> {
  await change
  await signIn()
  return new Promise(() => {})
}
