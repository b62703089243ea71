import { useEffect, useState } from "react"
import { Gate } from "./gate.tsx"
import { Inside } from "./inside.tsx"
import { type Arrival, arrive } from "./sign-in.ts"
import { translator } from "./texts/index.ts"

const { t, language } = translator(navigator.languages)
document.documentElement.lang = language

/** Signs in, then shows the house; until then the page stays empty rather than flicker. */
export function App() {
  const [arrival, setArrival] = useState<Arrival>({ kind: "leaving" })
  useEffect(() => {
    arrive().then(setArrival, (failure) =>
      setArrival({ kind: "failed", message: String(failure), signIn: () => location.reload() }),
    )
  }, [])
  switch (arrival.kind) {
    case "leaving":
      return null
    case "signed-out":
      return <Gate title={t("gate.signed_out")} action={t("gate.again")} onAct={arrival.signIn} />
    case "failed":
      return (
        <Gate
          title={t("gate.failed")}
          message={arrival.message}
          action={t("gate.retry")}
          onAct={arrival.signIn}
        />
      )
    case "signed-in":
      return <Inside t={t} language={language} signedIn={arrival.signedIn} />
  }
}
