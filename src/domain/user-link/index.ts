export {
  addLink,
  type ExternalAccount,
  findLinkedUser,
  findLinkedUserInTransaction,
  findUserToSignIn,
  findVouchedUser,
  isProviderActiveFor,
  isProviderActiveIn,
  listUsableLinks,
  releaseLinks,
  removeLink,
  requireLinkLimit,
  validateLink,
} from "./commands.ts"

/** Parts of this module that the server loads. */
export const module = {} as const
