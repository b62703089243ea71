import { signUpLink, signUpNotice, signUpRequest } from "./model.ts"
import { signUpLinkChain, signUpLinkView, signUpRequestChain, signUpRequestView } from "./view.ts"

export {
  acceptsEmail,
  isSignUpLink,
  redeemSignUpLink,
  signUpLinkPath,
  usableSignUpLink,
} from "./link.ts"
export type { SignUpLink } from "./model.ts"
export { dropSignUps, needsApproval, submitSignUp } from "./request.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [signUpLink, signUpRequest, signUpNotice],
  views: [signUpLinkView, signUpRequestView],
  chains: { sign_up_link: signUpLinkChain, sign_up_request: signUpRequestChain },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
