import type { SetupRequest } from "../../boot/setup.ts"
import { instanceIds } from "../../domain/instance/index.ts"
import { setupComplexity } from "../../domain/policy/index.ts"
import { findServiceKey } from "../../domain/service-account/index.ts"
import { changePublicUrl, firstInstance, type SetupInput, setUp } from "../../domain/setup/index.ts"
import { importPublicKey } from "../../kernel/crypto/signing-key.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import type { ServerServices } from "../services.ts"

/**
 * Sets up from the command line, with the same step as the page. If the key is already registered,
 * an interrupted earlier run has completed the setup.
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
  return key !== undefined && findServiceKey(cx, key.userId, key.keyId)?.publicKey === key.publicKey
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
    // The composition rules are the default of the API for an instance without its own policy.
    passwordRules: request.passwordRules === "composition" ? undefined : setupComplexity,
    recoveryCodes: true,
    serviceKey: serviceKey && { ...serviceKey, publicKey: importPublicKey(serviceKey.publicKey) },
  }
}

/** The login name is used for the names of the owner until they are changed. */
export function namesFrom(loginName: string): {
  readonly firstName: string
  readonly lastName: string
} {
  const [local = loginName] = loginName.split("@")
  const [firstName = local, ...rest] = local.split(/[._\s-]+/).filter((part) => part !== "")
  return { firstName, lastName: rest.join(" ") || firstName }
}

/** The public URL of the configuration replaces the one of the setup. */
export async function applyPublicUrl(
  services: ServerServices,
  publicUrl: string | undefined,
): Promise<void> {
  if (publicUrl === undefined || !instanceIds(services.store).includes(firstInstance)) return
  await changePublicUrl(services.call(firstInstance, "config"), publicUrl)
}
