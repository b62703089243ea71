import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { bindHandlers } from "../../api/method.ts"
import {
  type CreateInstanceRequest,
  type CreateInstanceRequest_Human,
  type CreateInstanceRequest_Machine,
  SystemService,
} from "../../gen/core/system/v1/system_service_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { toDetails } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { findInstance, publicUrlAt } from "../instance/index.ts"
import { createInstance, expiryOr, type HumanOwner, type MachineOwner } from "./create.ts"
import { changePublicUrl } from "./public-url.ts"

export const system = bindHandlers<Cx>()(SystemService, {
  createInstance: (req, cx) => create(cx, req),
  setPrimaryDomain: async ({ domain }, cx) => {
    const own = findInstance(cx)
    const publicUrl = publicUrlAt(own, domain)
    if (publicUrl === own.publicUrl) {
      throw new Fault(
        "failed_precondition",
        "instance.unchanged",
        "nothing to update: the instance already has this primary domain",
      )
    }
    await changePublicUrl(cx, publicUrl, true)
    return { details: toDetails(findInstance(cx)) }
  },
})

async function create(cx: Cx, req: CreateInstanceRequest) {
  const created = await createInstance(cx, {
    name: req.instanceName,
    organization: req.firstOrgName,
    domain: req.customDomain,
    language: req.defaultLanguage,
    owner: ownerOf(req),
  })
  const { instance, token, keyFile } = created
  return {
    instanceId: instance,
    details: toDetails(findInstance({ ...cx, instance })),
    ...(token !== undefined && { pat: token }),
    ...(keyFile !== undefined && { machineKey: Buffer.from(keyFile) }),
  }
}

function ownerOf({ owner }: CreateInstanceRequest): HumanOwner | MachineOwner {
  if (owner.case === "human") return humanOf(owner.value)
  if (owner.case === "machine") return machineOf(owner.value)
  throw invalidError("instance.owner_missing", "owner is required: human or machine")
}

function humanOf({ userName, email, profile, password }: CreateInstanceRequest_Human): HumanOwner {
  if (!email) throw invalidError("instance.owner_email_missing", "email of the owner is required")
  const [local = ""] = (userName || email.email).split("@")
  return {
    kind: "human",
    userName,
    email: { value: email.email, verified: email.isEmailVerified },
    // The owner's name is unknown, so the login name is used until the owner changes it.
    profile: {
      givenName: profile?.firstName || local,
      familyName: profile?.lastName || local,
      preferredLanguage: profile?.preferredLanguage || undefined,
    },
    password: password?.password
      ? { value: password.password, mustChange: password.passwordChangeRequired }
      : undefined,
  }
}

function machineOf(machine: CreateInstanceRequest_Machine): MachineOwner {
  const { userName, name, personalAccessToken, machineKey } = machine
  if (!personalAccessToken && !machineKey) {
    const message =
      "personal_access_token or machine_key is required: otherwise the owner could not sign in"
    throw invalidError("instance.owner_credential_missing", message)
  }
  const ends = (date: Timestamp | undefined) => expiryOr(date && timestampMs(date))
  return {
    kind: "machine",
    userName,
    name,
    token: personalAccessToken && ends(personalAccessToken.expirationDate),
    key: machineKey && ends(machineKey.expirationDate),
  }
}

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
