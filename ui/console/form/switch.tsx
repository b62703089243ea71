import type { DescMethod } from "@bufbuild/protobuf"
import { useState } from "react"
import { Button, Check, Dialog } from "../../kit/index.ts"
import { notify, RefusalAlert, t, useAction, useIsPermitted } from "../shell/index.ts"

type SwitchProps = {
  readonly needs: DescMethod
  readonly label: string
  readonly hint: string
  readonly on: boolean
  readonly act: (on: boolean) => Promise<unknown>
  /** A warning to confirm before it is turned on. */
  readonly confirmation?: string
}

/**
 * A switch that is saved immediately, for callers with permission; an error is shown next to it.
 */
export function Switch({ needs, label, hint, on, act, confirmation }: SwitchProps) {
  const fixed = !useIsPermitted()(needs)
  const [asking, setAsking] = useState(false)
  const action = useAction(
    // Another user may have switched it in the meantime.
    async (next: boolean) => (next === on ? undefined : act(next)),
    () => {
      if (!asking) return
      setAsking(false)
      notify({ text: t("notice.turned_on", { name: label }), undo: () => act(false) })
    },
  )
  const toggle = (next: boolean) => {
    if (next && confirmation) setAsking(true)
    else action.run(next)
  }
  return (
    <>
      <Check
        label={label}
        hint={hint}
        checked={on}
        disabled={fixed || action.busy}
        onChange={toggle}
      />
      {!asking && <RefusalAlert refusal={action.refusal} />}
      {asking && (
        <Dialog title={label} onClose={() => setAsking(false)}>
          <p>{confirmation}</p>
          <RefusalAlert refusal={action.refusal} />
          <div className="form-actions">
            <Button kind="danger" disabled={action.busy} onClick={() => action.run(true)}>
              {t("action.turn_on")}
            </Button>
            <Button onClick={() => setAsking(false)}>{t("form.cancel")}</Button>
          </div>
        </Dialog>
      )}
    </>
  )
}
