import { historyOf } from "../../store/index.ts"
import { metadataUndo } from "../org/index.ts"
import { user } from "../user-model/index.ts"

export const userHistory = historyOf(user, {
  personal: ["userName", "profile", "email.address", "phone.number", "name", "description"],
  hidden: [
    "changed",
    "stoppedIn",
    "stoppers",
    "loginNames",
    "reservedNames",
    "factors",
    "kind",
    "emailCode",
    "phoneCode",
    "email.proven",
    "origins",
    "returnedCodes",
    "invite.isOfInstance",
    "invite.verifier",
  ],
  operations: "core.user.v2.UserService/*User",
  present: (state) => {
    if (!("kind" in state)) return {}
    const { userName: username } = state
    if (state.kind === "human") return { username, human: { profile: state.profile } }
    const { jwtType: accessTokenJwtType = "", jwtAlgorithm = "", ...machine } = state
    const accessTokenSigningAlgorithm = jwtAlgorithm
    return { username, machine: { ...machine, accessTokenJwtType, accessTokenSigningAlgorithm } }
  },
  unkept: ["user.metadata"],
  undo: {
    "user.human.profile.changed": "UpdateUser",
    "user.metadata.set": metadataUndo("UserMetadata"),
  },
  noUndo: {
    creation: ["user.human.added"],
    removal: ["user.username.released"],
    cascade: ["user.domain.claimed"],
    proof: ["user.human.*", "user.recovery.started"],
    address: [
      "user.human.email.changed",
      "user.human.email.verified",
      "user.human.phone.changed",
      "user.human.phone.verified",
      "user.human.phone.removed",
    ],
    file: ["user.human.avatar.*"],
    secret: ["user.machine.key.*", "user.machine.secret.*", "user.pat.*"],
    fact: ["user.human.mfa.init.skipped"],
  },
})
