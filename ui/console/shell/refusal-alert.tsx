import { lazy, Suspense } from "react"
import { Alert, Button } from "../../kit/index.ts"
import { isSignInTooOld, type Refusal } from "./refusal.ts"
import { refusalText } from "./refusal-text.ts"
import { signInFresh } from "./session.ts"
import { t } from "./text.ts"

/** An error next to the control that caused it; empty if there is none. */
export function RefusalAlert({ refusal }: { readonly refusal: Refusal | undefined }) {
  if (!refusal) return undefined
  if (isSignInTooOld(refusal)) return <SignInAgainPrompt />
  return <Alert tone="danger">{refusalText(refusal)}</Alert>
}

/** Loaded when shown, because it is rarely needed. */
const MailedCode = lazy(async () => ({
  default: (await import("./mailed-code.tsx")).MailedCode,
}))

/** Asks to sign in again to confirm the identity. Unsaved input is kept. */
function SignInAgainPrompt() {
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
