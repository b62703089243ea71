import { useEffect, useSyncExternalStore } from "react"
import { Button } from "../../kit/index.ts"
import { type Action, useAction } from "./call.ts"
import { RefusalAlert } from "./refusal-alert.tsx"
import { t } from "./text.ts"

/** A notice of a completed change, with an action to undo it. */
type Notice = { readonly text: string; readonly undo?: (() => Promise<unknown>) | undefined }

/** Long enough to read the notice and reach the button. */
const visibleMs = 12_000

let notice: Notice | undefined
const listeners = new Set<() => void>()

/** Shows a notice below the page; replaces the previous one. */
export function notify(next: Notice | undefined): void {
  notice = next
  for (const listener of listeners) listener()
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed)
  return () => listeners.delete(changed)
}

/** The place for notices, on every page. */
export function Notices() {
  const shown = useSyncExternalStore(subscribe, () => notice)
  return (
    <div className="notices" role="status">
      {shown && <NoticeBox key={shown.text} notice={shown} />}
    </div>
  )
}

function NoticeBox({ notice: { text, undo } }: { readonly notice: Notice }) {
  const action = useAction(
    async () => undo?.(),
    () => notify(undefined),
  )
  const isHeld = action.busy || action.refusal !== undefined
  useEffect(() => {
    if (isHeld) return
    const timer = setTimeout(() => notify(undefined), visibleMs)
    return () => clearTimeout(timer)
  }, [isHeld])
  return (
    <div className="notice">
      <span>{text}</span>
      {undo && <UndoButton action={action} />}
      <Button small kind="plain" onClick={() => notify(undefined)}>
        {t("notice.close")}
      </Button>
      <RefusalAlert refusal={action.refusal} />
    </div>
  )
}

function UndoButton({ action }: { readonly action: Action }) {
  return (
    <Button small onClick={() => action.run()} disabled={action.busy}>
      {t("notice.undo")}
    </Button>
  )
}
