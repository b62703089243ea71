import { durationFromMs, durationMs } from "@bufbuild/protobuf/wkt"
import {
  ApplicationAccessRule,
  type ApplicationAccess as Message,
} from "../../../gen/core/application/v2/application_pb.ts"
import { valueOfEnum } from "../../../protocol/api/response.ts"
import { type AppAccess, type AppAccessRule, accessOf } from "../access/access.ts"
import type { App } from "../model.ts"

/** The access fields that a request contains. */
export function accessInputOf(message: Message | undefined): Partial<AppAccess> {
  if (!message) return {}
  const { rule, secondFactorRequired: secondFactor, sessionMaxAge, allowedNetworks } = message
  return {
    ...(rule !== ApplicationAccessRule.UNSPECIFIED && { rule: valueOfEnum(rules, rule) }),
    ...(secondFactor !== undefined && { secondFactor }),
    ...(sessionMaxAge && { maxAge: Math.floor(durationMs(sessionMaxAge) / 1000) }),
    ...(allowedNetworks && { networks: [...new Set(allowedNetworks.cidrs)] }),
  }
}

const rules: Readonly<Record<number, AppAccessRule>> = {
  [ApplicationAccessRule.EVERYONE]: "everyone",
  [ApplicationAccessRule.ASSIGNED]: "assigned",
  [ApplicationAccessRule.PROJECT_ROLE]: "role",
}

/** The access of an application as the API returns it. */
export function toAccess(state: App) {
  const { rule, secondFactor = false, maxAge = 0, networks = [] } = accessOf(state)
  return {
    rule: rulesToMessage[rule],
    secondFactorRequired: secondFactor,
    sessionMaxAge: durationFromMs(maxAge * 1000),
    allowedNetworks: { cidrs: [...networks] },
  }
}

const rulesToMessage = {
  everyone: ApplicationAccessRule.EVERYONE,
  assigned: ApplicationAccessRule.ASSIGNED,
  role: ApplicationAccessRule.PROJECT_ROLE,
} as const
