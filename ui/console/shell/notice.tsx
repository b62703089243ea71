import { useEffect, useSyncExternalStore } from "react"
import { Button } from "../../kit/index.ts"
import { type Action, useAction } from "./call.ts"
import { RefusalAlert } from "./refusal-alert.tsx"
import { t } from "./text.ts"

/** What has just been done, and what takes it back. */
type Notice = { readonly text: string; readonly undo?: (() => Promise<unknown>) | undefined }

/** Long enough to read it and to reach the button. */
const shownMs = 12_000

let notice: Notice | undefined
const listeners = new Set<() => void>()

/** Says below the page what was done; the next one takes its place. */
export function notify(next: Notice | undefined): void {
  notice = next
  for (const listener of listeners) listener()
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed)
  return () => listeners.delete(changed)
}

/** Where notices stand, whatever page is open. */
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
    const timer = setTimeout(() => notify(undefined), shownMs)
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
