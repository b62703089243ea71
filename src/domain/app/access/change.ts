import { Fault, fieldError } from "../../../kernel/fault.ts"
import { parseRange } from "../../../kernel/net/address.ts"
import type { DecisionContext, Draft } from "../../../store/index.ts"
import { instance } from "../../instance/index.ts"
import type { App, AppEvent } from "../model.ts"
import { type AppAccess, accessOf, isSameAccess, mergeAccess } from "./access.ts"

/**
 * The events that change an application's access; none if it is unchanged. Rejects changes to the
 * console, because a rule that admits no one could not be reverted there.
 */
export function accessChanges(
  cx: Pick<DecisionContext, "state" | "instance">,
  state: App,
  input: Partial<AppAccess>,
): readonly Draft<AppEvent>[] {
  validateAccess(input)
  const current = accessOf(state)
  const access = mergeAccess(current, input)
  if (isSameAccess(access, current)) return []
  const { consoleClientId } = cx.state(instance, cx.instance)
  if ("clientId" in state && state.clientId !== "" && state.clientId === consoleClientId) {
    throw new Fault(
      "failed_precondition",
      "app.is_console",
      "access to the console can't be limited",
    )
  }
  return [{ type: "project.application.access.changed", data: access }]
}

const minute = 60
const year = 365 * 86_400
const networksMax = 50

function validateAccess({ maxAge = 0, networks = [] }: Partial<AppAccess>): void {
  if (maxAge !== 0 && (maxAge < minute || maxAge > year)) {
    throw accessError("session_max_age", "must be from 1 minute to 365 days, or 0 for no limit")
  }
  if (networks.length > networksMax) {
    throw accessError("allowed_networks", `must have at most ${networksMax} entries`)
  }
  if (networks.some((each) => parseRange(each) === undefined)) {
    throw accessError(
      "allowed_networks",
      "must be IP addresses or CIDR blocks, such as 192.168.1.0/24 or 2001:db8::/32",
    )
  }
}

const accessError = (field: string, requirement: string) =>
  fieldError("request.field_invalid", `access.${field}`, requirement)
