import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt"
import { share } from "../../api/method.ts"
import {
  type CreateInstanceRequest,
  type CreateInstanceRequest_Human,
  type CreateInstanceRequest_Machine,
  SystemService,
} from "../../gen/core/system/v1/system_service_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { details } from "../../protocol/api/answer.ts"
import type { Cx } from "../../store/index.ts"
import { findInstance, publicUrlAt } from "../instance/index.ts"
import { createInstance, endOr, type HumanOwner, type MachineOwner } from "./create.ts"
import { moveInstance } from "./move.ts"

export const system = share<Cx>()(SystemService, {
  createInstance: (req, cx) => create(cx, req),
  setPrimaryDomain: async ({ domain }, cx) => {
    const own = findInstance(cx)
    const publicUrl = publicUrlAt(own, domain)
    if (publicUrl === own.publicUrl) {
      throw new Fault("failed_precondition", "instance.unchanged", "no changes: it is so already")
    }
    await moveInstance(cx, publicUrl, true)
    return { details: details(findInstance(cx)) }
  },
})

async function create(cx: Cx, req: CreateInstanceRequest) {
  const made = await createInstance(cx, {
    name: req.instanceName,
    organization: req.firstOrgName,
    domain: req.customDomain,
    language: req.defaultLanguage,
    owner: ownerOf(req),
  })
  const { instance, token, keyFile } = made
  return {
    instanceId: instance,
    details: details(findInstance({ ...cx, instance })),
    ...(token !== undefined && { pat: token }),
    ...(keyFile !== undefined && { machineKey: Buffer.from(keyFile) }),
  }
}

function ownerOf({ owner }: CreateInstanceRequest): HumanOwner | MachineOwner {
  if (owner.case === "human") return humanOf(owner.value)
  if (owner.case === "machine") return machineOf(owner.value)
  throw invalidError("instance.owner_missing", "say who owns the instance: human or machine")
}

function humanOf({ userName, email, profile, password }: CreateInstanceRequest_Human): HumanOwner {
  if (!email) throw invalidError("instance.owner_email_missing", "the owner's email is missing")
  const [local = ""] = (userName || email.email).split("@")
  return {
    kind: "human",
    userName,
    email: { value: email.email, verified: email.isEmailVerified },
    // Nobody knows the owner's names better; the login name stands in until they are changed.
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
    const message = "ask for a personal_access_token or a machine_key; nobody could sign in"
    throw invalidError("instance.owner_credential_missing", message)
  }
  const ends = (date: Timestamp | undefined) => endOr(date && timestampMs(date))
  return {
    kind: "machine",
    userName,
    name,
    token: personalAccessToken && ends(personalAccessToken.expirationDate),
    key: machineKey && ends(machineKey.expirationDate),
  }
}

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
