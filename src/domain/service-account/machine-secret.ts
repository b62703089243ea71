import { isOneOf } from "../../kernel/crypto/secret.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx, Receipt } from "../../store/index.ts"
import { removalFrom } from "../family/index.ts"
import { newClientSecret } from "../policy/index.ts"
import { existing } from "../user/index.ts"
import { keepAnOwner, type Machine, user } from "../user-model/index.ts"

/** Binds the hash of a secret to its service user. */
const secretOf = (userId: string) => `machine_secret/${userId}`

const setSecret = user.command<{ readonly id: string; readonly hash: string }>(
  (state, { id, hash }) => {
    if (existing(state).kind !== "machine") throw notMachineError()
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
 * Gives a service user a new secret, which is answered this once; the one there was is void, and so
 * is what it got. The user's name is the client id that belongs to it.
 */
export async function generateMachineSecret(
  cx: Cx,
  userId: string,
): Promise<{ readonly receipt: Receipt; readonly secret: string }> {
  const secret = newClientSecret(cx)
  const hash = cx.secrets.hash(secret, secretOf(userId))
  return { receipt: await setSecret(cx, userId, { id: cx.ids.next(), hash }), secret }
}

/** Takes the secret away, and what it got with it; answers undefined where there is none. */
export const removeMachineSecret = removalFrom(user)((state, _, tx, userId) => {
  const present = existing(state)
  if (present.kind !== "machine" || !present.secret) return undefined
  keepAnOwner(tx, userId, { ...present, secret: null })
  const erase = { types: ["user.machine.secret.set"] }
  return { type: "user.machine.secret.removed", data: {}, erase }
})

/** Whether `secret` is the service user's; false where it has none. */
export const isMachineSecret = (
  cx: Pick<Cx, "secrets">,
  userId: string,
  { state, secret }: { readonly state: Machine; readonly secret: string },
): boolean =>
  isOneOf(cx.secrets, state.secret ? [state.secret.hash] : [], {
    plain: secret,
    about: secretOf(userId),
  })

const notMachineError = () =>
  new Fault(
    "failed_precondition",
    "user.not_machine",
    "only service users have a secret; people have a password",
  )
