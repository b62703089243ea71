// Imported here, because most pages need these modules and one file is smaller than several.
import "../../src/gen/core/user/v2/user_service_pb.ts"
import "./form/confirm.tsx"
import "./list/collection.tsx"
import "./list/history.tsx"
import { QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { createRoot } from "react-dom/client"
import { BarControls } from "./app/bar.tsx"
import { trackFocus } from "./app/focus.ts"
import { router } from "./app/router.tsx"
import { queryClient } from "./shell/call.ts"
import { contentId } from "./shell/frame.tsx"
import { start } from "./shell/session.ts"
import { language } from "./shell/text.ts"
import { loadTexts } from "./shell/texts/index.ts"

const container = document.getElementById("console")
if (!container) throw new Error("the document has no console container")
void start()
await loadTexts(navigator.languages)
document.documentElement.lang = language

// Moves keyboard and screen reader users to the new page; the router restores the scroll position,
// and the bar doesn't cover the heading.
const moveFocus = trackFocus()
router.subscribe("onRendered", ({ pathChanged, fromLocation }) => {
  const content = document.getElementById(contentId)
  if (content && pathChanged && fromLocation) moveFocus(content)
})

createRoot(container).render(
  <QueryClientProvider client={queryClient}>
    <BarControls>
      <RouterProvider router={router} />
    </BarControls>
  </QueryClientProvider>,
)
