export {
  addLink,
  checkLink,
  type External,
  letsIn,
  letsUserIn,
  linkedUser,
  linkedUserIn,
  mustHaveRoom,
  releaseLinks,
  removeLink,
  usableLinks,
  userLetIn,
  vouchedUser,
} from "./commands.ts"

/** What this module is to the whole. */
export const module = {} as const
