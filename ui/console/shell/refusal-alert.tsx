import { lazy, Suspense } from "react"
import { Alert, Button } from "../../kit/index.ts"
import { isTooOld, type Refusal } from "./refusal.ts"
import { wordsOf } from "./refusal-text.ts"
import { signInFresh } from "./session.ts"
import { t } from "./text.ts"

/** A refusal beside what was tried; nothing where there is none. */
export function RefusalAlert({ refusal }: { readonly refusal: Refusal | undefined }) {
  if (!refusal) return undefined
  if (isTooOld(refusal)) return <SignInAgain />
  return <Alert tone="danger">{wordsOf(refusal)}</Alert>
}

/** Loaded where it is shown: few need it. */
const MailedCode = lazy(async () => ({
  default: (await import("./mailed-code.tsx")).MailedCode,
}))

/** Nothing is wrong: it only has to be clear who sits there. What is typed stays. */
function SignInAgain() {
  return (
    <Alert tone="warning">
      {t("gate.prove")}{" "}
      <Button small onClick={() => void signInFresh()}>
        {t("gate.again")}
      </Button>
      <Suspense>
        <MailedCode />
      </Suspense>
    </Alert>
  )
}
