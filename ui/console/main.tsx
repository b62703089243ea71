// What most pages are made of, and who people are, comes with the shell: one file weighs less.
import "../../src/gen/core/user/v2/user_service_pb.ts"
import "./form/confirm.tsx"
import "./list/collection.tsx"
import "./list/history.tsx"
import { QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { createRoot } from "react-dom/client"
import { BarControls } from "./app/bar.tsx"
import { keepFocus } from "./app/focus.ts"
import { router } from "./app/router.tsx"
import { client } from "./shell/call.ts"
import { contentId } from "./shell/frame.tsx"
import { start } from "./shell/session.ts"
import { language } from "./shell/text.ts"
import { loadTexts } from "./shell/texts/index.ts"

const place = document.getElementById("console")
if (!place) throw new Error("The document has no place for the console.")
void start()
await loadTexts(navigator.languages)
document.documentElement.lang = language

// Whoever uses a keyboard or a screen reader begins at the page that has come; where it stands is
// the router's matter, and its heading is not behind the bar.
const moveFocus = keepFocus()
router.subscribe("onRendered", ({ pathChanged, fromLocation }) => {
  const content = document.getElementById(contentId)
  if (content && pathChanged && fromLocation) moveFocus(content)
})

createRoot(place).render(
  <QueryClientProvider client={client}>
    <BarControls>
      <RouterProvider router={router} />
    </BarControls>
  </QueryClientProvider>,
)
