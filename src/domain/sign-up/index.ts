import { signUpLink } from "./model.ts"
import { signUpLinkChain, signUpLinkView } from "./view.ts"

export {
  acceptsEmail,
  isSignUpLink,
  signUpLinkPath,
  usableSignUpLink,
  redeemSignUpLink,
} from "./link.ts"
export type { SignUpLink } from "./model.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [signUpLink],
  views: [signUpLinkView],
  chains: { sign_up_link: signUpLinkChain },
  operations: () => import("./api.ts"),
} as const
