import { lazy, useState } from "react"
import { PagePart, useCanReadInstance } from "../shell/index.ts"
import { dismiss, isDismissed } from "./dismissed.ts"

const Checklist = lazy(async () => ({ default: (await import("./checklist.tsx")).Checklist }))

/** First steps for instance administrators, until dismissed. */
export function FirstSteps() {
  const [away, setAway] = useState(isDismissed)
  const canReadInstance = useCanReadInstance()
  if (away || !canReadInstance) return null
  const close = () => {
    dismiss()
    setAway(true)
  }
  return (
    <PagePart rows={4}>
      <Checklist close={close} />
    </PagePart>
  )
}
