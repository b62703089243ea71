import { Alert } from "../kit/alert.tsx"
import { Check } from "../kit/check.tsx"
import { useActionWith } from "./load.ts"

type SwitchProps = {
  readonly label: string
  readonly hint: string
  readonly on: boolean
  readonly act: (on: boolean) => Promise<unknown>
}

/** Something that is turned where it stands, at once; a refusal is said beside it. */
export function Switch({ label, hint, on, act }: SwitchProps) {
  const action = useActionWith(act)
  return (
    <>
      <Check label={label} hint={hint} checked={on} disabled={action.busy} onChange={action.run} />
      {action.error && <Alert tone="danger">{action.error}</Alert>}
    </>
  )
}
