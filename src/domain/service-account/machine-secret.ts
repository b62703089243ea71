import { matchesAny } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { createRemoval } from "../family/index.ts"
import { generateClientSecret } from "../policy/index.ts"
import { requireExists } from "../user/index.ts"
import { type Machine, requireOtherOwner, user } from "../user-model/index.ts"

/** Binds the hash of a secret to its service account. */
const secretContext = (userId: string) => `machine_secret/${userId}`

const storeSecret = user.command<{ readonly id: string; readonly hash: string }>(
  (state, { id, hash }) => {
    if (requireExists(state).kind !== "machine") throw notMachineError()
    return [
      {
        type: "user.machine.secret.set",
        data: { secretId: id },
        private: { hashedSecret: hash },
        erase: { types: ["user.machine.secret.set"] },
      },
    ]
  },
)

/**
 * Generates a client secret for a service account, returned only here. It invalidates the previous
 * secret and the tokens issued with it. The client ID is the user name.
 */
export async function generateMachineSecret(
  cx: Cx,
  userId: string,
): Promise<{ readonly receipt: Receipt; readonly secret: string }> {
  const secret = generateClientSecret(cx)
  const hash = cx.secrets.hash(secret, secretContext(userId))
  return { receipt: await storeSecret(cx, userId, { id: cx.ids.next(), hash }), secret }
}

/**
 * Removes the secret and invalidates the tokens issued with it. Returns undefined if there is none.
 */
export const removeMachineSecret = createRemoval(user)((state, _, tx, userId) => {
  const present = requireExists(state)
  if (present.kind !== "machine" || !present.secret) return undefined
  requireOtherOwner(tx, userId, { ...present, secret: null })
  const erase = { types: ["user.machine.secret.set"] }
  return { type: "user.machine.secret.removed", data: {}, erase }
})

/** Whether the secret is that of the service account; false if it has none. */
export const isMachineSecret = (
  cx: Pick<Cx, "secrets">,
  userId: string,
  { state, secret }: { readonly state: Machine; readonly secret: string },
): boolean =>
  matchesAny(cx.secrets, state.secret ? [state.secret.hash] : [], {
    plain: secret,
    about: secretContext(userId),
  })

const notMachineError = () =>
  new Fault(
    "failed_precondition",
    "user.not_machine",
    "only service accounts have a client secret; human users have a password",
  )
