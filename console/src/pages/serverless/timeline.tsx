/** The timeline of a job, drawn. */

import { Link } from "@tanstack/react-router";
import { reasons } from "../../api/reasons.data.ts";
import { Duration, Id, When } from "../../design/facts.tsx";
import type { Moment } from "./job-timeline.ts";
import css from "./timeline.module.css";

export function Timeline({ moments, endpointId }: { moments: readonly Moment[]; endpointId: string }) {
  return (
    <ol className={css.line} aria-label="What happened to the job">
      {moments.map((moment, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: moments are only added at the end
        <li key={index} className={css.moment} data-tone={moment.tone}>
          <span className={css.dot} aria-hidden="true" />
          <div className={css.what}>
            <p className={css.title}>
              {moment.title}
              {moment.ms !== undefined && (
                <span className={css.took}>
                  <Duration ms={moment.ms} />
                </span>
              )}
            </p>
            {moment.worker !== undefined && (
              <p className={css.detail}>
                <Id value={moment.worker} />
                <Link to="/serverless/$id/logs" params={{ id: endpointId }} search={{ from: moment.worker }}>
                  its log
                </Link>
              </p>
            )}
            {moment.text !== undefined && <p className={css.text}>{moment.text}</p>}
            {moment.code !== undefined && <p className={css.detail}>{reasons[moment.code]?.remedy}</p>}
          </div>
          <span className={css.when}>{moment.at !== undefined && <When at={moment.at} />}</span>
        </li>
      ))}
    </ol>
  );
}
