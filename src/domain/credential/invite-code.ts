import type { Draft } from "../../store/index.ts"
import {
  byOrganization,
  hasLeft,
  hasOwnWay,
  type InviteMail,
  type User,
  type UserEvent,
} from "../user-model/index.ts"
import type { NewCode } from "./code.ts"

/**
 * The invitation of a person who was invited and has not chosen a password yet, for who asks for a
 * new password; in a larger step. Empty for whoever has a way to sign in.
 */
export function renewedInvite(state: User, code: NewCode): readonly Draft<UserEvent>[] {
  if (hasLeft(state) || state.kind !== "human" || !state.invite || hasOwnWay(state)) return []
  const { invite } = state
  const verifier = invite.verifier ?? byOrganization
  return [inviteAdded(invite.urlTemplate === "" ? code : { ...code, verifier }, invite)]
}

/** The event of a new code; an older one is forgotten. */
export function inviteAdded(
  code: NewCode,
  { urlTemplate, applicationName, isOfInstance }: InviteMail,
) {
  const { sealed, expires, returned, verifier } = code
  const added: Draft<UserEvent> = {
    type: "user.human.invite.code.added",
    data: {
      expires,
      returned,
      urlTemplate,
      applicationName,
      ...(verifier && { verifier }),
      ...(isOfInstance && { isOfInstance }),
    },
    private: { sealed },
    erase: { types: ["user.human.invite.code.added"] },
  }
  return added
}
