import {
  ApplicationAccessRule,
  type ApplicationAccess as Message,
} from "../../../gen/core/application/v2/application_pb.ts"
import { meaning } from "../../../protocol/api/answer.ts"
import { type AppAccess, type AppAccessRule, accessOf } from "../access/access.ts"
import type { App } from "../model.ts"

/** The fields of an application's access that a request contains. */
export function accessChange(message: Message | undefined): Partial<AppAccess> {
  const isStated = message && message.rule !== ApplicationAccessRule.UNSPECIFIED
  return { ...(isStated && { rule: meaning(rules, message.rule) }) }
}

const rules: Readonly<Record<number, AppAccessRule>> = {
  [ApplicationAccessRule.EVERYONE]: "everyone",
  [ApplicationAccessRule.ASSIGNED]: "assigned",
  [ApplicationAccessRule.PROJECT_ROLE]: "role",
}

/** An application's access as it is shown. */
export function toAccess(state: App) {
  const { rule } = accessOf(state)
  return { rule: ruleNumbers[rule] }
}

const ruleNumbers = {
  everyone: ApplicationAccessRule.EVERYONE,
  assigned: ApplicationAccessRule.ASSIGNED,
  role: ApplicationAccessRule.PROJECT_ROLE,
} as const
