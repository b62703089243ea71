import { lazy, useState } from "react"
import { Part, useSeesInstance } from "../shell/index.ts"
import { isAway, putAway } from "./dismissed.ts"

const Checklist = lazy(async () => ({ default: (await import("./checklist.tsx")).Checklist }))

/** What comes after set-up, for who looks after the instance, until they put it away. */
export function FirstSteps() {
  const [away, setAway] = useState(isAway)
  const isTheirs = useSeesInstance()
  if (away || !isTheirs) return null
  const close = () => {
    putAway()
    setAway(true)
  }
  return (
    <Part rows={4}>
      <Checklist close={close} />
    </Part>
  )
}
