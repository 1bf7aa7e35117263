/** Lets a command line sign in: the person compares its code, sees what asks, and approves or refuses. */
import { useState } from "react";
import { curlOf } from "../../api/curl.ts";
import { useMe } from "../../api/me.ts";
import { useWrite } from "../../api/queries.ts";
import { Button } from "../../design/button.tsx";
import { When } from "../../design/facts.tsx";
import { TextField } from "../../design/field.tsx";
import { Facts, Panel, Refused } from "../../design/layout.tsx";
import css from "./account.module.css";
import { AccountPage } from "./frame.tsx";

const CODE_LENGTH = 8;
const lettersIn = (text: string) => text.replaceAll(/[^a-z]/gi, "").toUpperCase();

export function Code() {
  const [code, setCode] = useState(() => location.hash.slice(1, 20));
  const [done, setDone] = useState<string>();
  const me = useMe();
  const look = useWrite("lookAtCodeLogin");
  const answer = useWrite("answerCodeLogin");
  const refused = lettersIn(code).length !== CODE_LENGTH && "The code has eight letters";
  const answered = (approve: boolean, words: string) =>
    answer.mutate({ body: { userCode: code, approve } }, { onSuccess: () => setDone(words) });
  const seen = look.data;
  return (
    <AccountPage name="Sign in on the command line" curl={curlOf("answerCodeLogin")}>
      <Panel title="A command line asks to sign in" about="Type the code that millrace login shows in your terminal.">
        {done ? (
          <p role="status">{done}</p>
        ) : (
          <>
            <form
              className={css.line}
              onSubmit={(event) => {
                event.preventDefault();
                if (!refused) look.mutate({ body: { userCode: code } });
              }}
            >
              <TextField
                label="Code"
                value={code}
                onChange={(text) => setCode(text.toUpperCase())}
                placeholder="ABCD-EFGH"
                isCode
                maxLength={20}
                autoComplete="off"
                autoFocus
              />
              <Button type="submit" kind={seen ? "plain" : "primary"} isBusy={look.isPending} refused={refused}>
                Continue
              </Button>
            </form>
            {look.error && (
              <div className={css.below}>
                <Refused refusal={look.error} />
              </div>
            )}
            {seen && (
              <div className={css.below}>
                <Facts
                  rows={[
                    ["Machine", seen.device ?? "It did not say"],
                    ["Address", seen.address ?? "Unknown"],
                    ["Asked", <When key="asked" at={seen.createdAt} />],
                    [
                      "It may do",
                      `what you may do, as ${me.data?.person?.role ?? "yourself"} of ${me.data?.account.name ?? "this account"}`,
                    ],
                  ]}
                />
                <p className={css.warning}>
                  Approve it only if you have just run <code>millrace login</code> there yourself, and it shows this
                  code. Whoever approves the code of somebody else gives them their account.
                </p>
                <div className={css.line}>
                  <Button
                    kind="primary"
                    isBusy={answer.isPending}
                    onClick={() => answered(true, "Approved. Go back to your terminal: it is signed in.")}
                  >
                    Approve
                  </Button>
                  <Button
                    isBusy={answer.isPending}
                    onClick={() => answered(false, "Refused. The command line gets nothing.")}
                  >
                    Refuse
                  </Button>
                </div>
                {answer.error && <Refused refusal={answer.error} />}
              </div>
            )}
          </>
        )}
      </Panel>
    </AccountPage>
  );
}
