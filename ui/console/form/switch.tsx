import type { DescMethod } from "@bufbuild/protobuf"
import { useState } from "react"
import { Button, Check, Dialog } from "../../kit/index.ts"
import { notify, RefusalAlert, t, useAction, useMay } from "../shell/index.ts"

type SwitchProps = {
  readonly needs: DescMethod
  readonly label: string
  readonly hint: string
  readonly on: boolean
  readonly act: (on: boolean) => Promise<unknown>
  /** What turning it on takes from people: it is asked first, and can be undone. */
  readonly asks?: string
}

/** Something that is turned where it stands, by who may; a refusal is said beside it. */
export function Switch({ needs, label, hint, on, act, asks }: SwitchProps) {
  const fixed = !useMay()(needs)
  const [asking, setAsking] = useState(false)
  const action = useAction(
    // Somebody else may have turned it the same way in the meantime.
    async (wanted: boolean) => (wanted === on ? undefined : act(wanted)),
    () => {
      if (!asking) return
      setAsking(false)
      notify({ text: t("notice.turned_on", { name: label }), undo: () => act(false) })
    },
  )
  const turn = (wanted: boolean) => {
    if (wanted && asks) setAsking(true)
    else action.run(wanted)
  }
  return (
    <>
      <Check
        label={label}
        hint={hint}
        checked={on}
        disabled={fixed || action.busy}
        onChange={turn}
      />
      {!asking && <RefusalAlert refusal={action.refusal} />}
      {asking && (
        <Dialog title={label} onClose={() => setAsking(false)}>
          <p>{asks}</p>
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
