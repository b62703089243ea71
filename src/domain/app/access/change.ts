import { Fault } from "../../../kernel/fault.ts"
import type { Decision, Draft } from "../../../store/index.ts"
import { instance } from "../../instance/index.ts"
import type { App, AppEvent } from "../model.ts"
import { type AppAccess, accessOf } from "./access.ts"

/**
 * The change of an application's access; nothing if it is the same. Refuses the console: a rule
 * that admits nobody could not be changed there.
 */
export function accessChanges(
  cx: Pick<Decision, "state" | "instance">,
  state: App,
  input: Partial<AppAccess>,
): readonly Draft<AppEvent>[] {
  const before = accessOf(state)
  const access = { ...before, ...input }
  if (access.rule === before.rule) return []
  const { consoleClientId } = cx.state(instance, cx.instance)
  if ("clientId" in state && state.clientId !== "" && state.clientId === consoleClientId) {
    throw new Fault(
      "failed_precondition",
      "app.is_console",
      "access to this application can't be limited: it is the console",
    )
  }
  return [{ type: "project.application.access.changed", data: access }]
}
