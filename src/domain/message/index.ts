import { message, messageCount } from "./model.ts"
import { messageReactor } from "./reactor.ts"
import { messageView } from "./view.ts"

export { pageLink } from "./content.ts"
export { message } from "./model.ts"
export {
  type OneTimeCode,
  queueMagicLink,
  queueNewDevice,
  queueOtp,
  queueSignUpWaiting,
} from "./otp.ts"
export { countMessages } from "./view.ts"

/** The registration of this module. */
export const module = {
  aggregates: [message, messageCount],
  views: [messageView],
  reactors: [messageReactor],
  operations: () => import("./api.ts"),
} as const
