import type { SetupRequest } from "../../boot/setup.ts"
import { instanceIds } from "../../domain/instance/index.ts"
import { lengthOnly } from "../../domain/policy/index.ts"
import { serviceUserKey } from "../../domain/service-account/index.ts"
import { firstInstance, moveInstance, type SetupInput, setUp } from "../../domain/setup/index.ts"
import { importPublicKey } from "../../kernel/crypto/signing-key.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"

/**
 * Set-up by command line: the same step as the page's, without a person. A key that is registered
 * already is that of a run which was cut off after this very step: then it has been done.
 */
export async function setUpByRequest(
  services: ServerServices,
  request: SetupRequest,
): Promise<void> {
  const cx = services.call(firstInstance, "setup")
  try {
    await setUp(cx, inputOf(request))
  } catch (cause) {
    const isOwn = cause instanceof Fault && cause.id === "instance.exists"
    if (!isOwn || !isRegistered(cx, request.serviceKey)) throw cause
  }
}

function isRegistered(cx: Cx, key: SetupRequest["serviceKey"]): boolean {
  return key !== undefined && serviceUserKey(cx, key.userId, key.keyId)?.publicKey === key.publicKey
}

function inputOf(request: SetupRequest): SetupInput {
  const { serviceKey } = request
  return {
    publicUrl: request.publicUrl,
    organization: request.org,
    owner: {
      loginName: request.owner,
      email: request.ownerEmail,
      password: request.ownerPassword,
      ...namesFrom(request.owner),
    },
    // The composition rules are the API's default, for an instance that states no policy.
    passwordRules: request.passwordRules === "composition" ? undefined : lengthOnly,
    recoveryCodes: true,
    serviceKey: serviceKey && { ...serviceKey, publicKey: importPublicKey(serviceKey.publicKey) },
  }
}

/** Where nobody is asked for a person's names, the login name stands in until they are changed. */
export function namesFrom(loginName: string): {
  readonly firstName: string
  readonly lastName: string
} {
  const [local = loginName] = loginName.split("@")
  const [firstName = local, ...rest] = local.split(/[._\s-]+/).filter((part) => part !== "")
  return { firstName, lastName: rest.join(" ") || firstName }
}

/** A public address in the configuration wins over the one that was set up. */
export async function followPublicUrl(
  services: ServerServices,
  publicUrl: string | undefined,
): Promise<void> {
  if (publicUrl === undefined || !instanceIds(services.store).includes(firstInstance)) return
  await moveInstance(services.call(firstInstance, "config"), publicUrl)
}
